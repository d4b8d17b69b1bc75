"""Who is there?"""

import random
from datetime import datetime


def groups(members):
    return [group for group in {member["group"] for member in members}]


def winner(members):
    return random.choice(members)


def badge(name):
    return {"name": name, "printed": datetime.now()}
