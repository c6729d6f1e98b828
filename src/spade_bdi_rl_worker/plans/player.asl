// What the agent does with a goal: pursue it by a plan, and learn where it has none.
//
// From the environment come the beliefs at(State), over, and plan(Action), which is there where the
// agent has been often enough to know what to do.

+!improve(Round) : true <-
    .learn;
    .send("director@localhost", tell, improved(Round)).

+!episode(Number) : true <-
    .begin(Number);
    !reach;
    .send("director@localhost", tell, finished(Number)).

+!reach : over(yes) <- .conclude.

+!reach : plan(Action) <- .act(Action); !reach.

+!reach : true <- .learn; .decide; !reach.
