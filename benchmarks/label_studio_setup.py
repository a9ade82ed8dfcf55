"""Creates annotators with tokens and a project of pairs in Label Studio's environment."""

import sys
from pathlib import Path

import django

sys.path[0] = str(Path.cwd())  # instead of the folder of this file

django.setup()

from organizations.models import Organization  # noqa: E402
from projects.models import Project  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402
from tasks.models import Task  # noqa: E402
from users.models import User  # noqa: E402

TEXT = "A plain sentence of some length, as a summary might have it. " * 8
CONFIG = """<View><Text name="source" value="$source"/><Text name="left" value="$left"/>
<Text name="right" value="$right"/><Choices name="better" toName="left" required="true">
<Choice value="left"/><Choice value="tie"/><Choice value="right"/></Choices></View>"""

tasks, ratings, annotators = map(int, sys.argv[1:])
people = [
    User.objects.create_user(f"a{n}@example.org", "a-password-of-some-length")
    for n in range(annotators)
]
organization = Organization.create_organization(created_by=people[0], title="Benchmark")
for person in people[1:]:
    organization.add_user(person)
for person in people:
    person.active_organization = organization
    person.save()
organization.jwt.legacy_api_tokens_enabled = True
organization.jwt.save()
project = Project.objects.create(
    title="Pairs",
    label_config=CONFIG,
    created_by=people[0],
    organization=organization,
    maximum_annotations=ratings,
    is_published=True,
)
Task.objects.bulk_create(
    Task(project=project, data={"source": TEXT, "left": TEXT, "right": TEXT}, overlap=ratings)
    for _ in range(tasks)
)
tokens = [Token.objects.get_or_create(user=person)[0].key for person in people]
print(project.pk, *tokens)
