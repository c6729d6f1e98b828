NAME = "utils"
