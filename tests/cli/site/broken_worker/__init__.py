"""A worker whose package cannot be imported here."""

import a_package_that_nobody_has  # noqa: F401
