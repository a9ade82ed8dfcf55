"""What refusals contain."""

from typing import Any

from rest_framework import serializers


class ProblemItem(serializers.Serializer[Any]):
    """One reason why a file, a request or a launch was refused."""

    code = serializers.CharField()
    reason = serializers.CharField()
    file = serializers.CharField(required=False, help_text="The file, if one was refused.")
    line = serializers.IntegerField(
        required=False, allow_null=True, help_text="The line; null if it is about the whole file."
    )
    field = serializers.CharField(required=False, help_text="The field of the request.")


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457). `code` is for programs, `detail` for people."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    problems = ProblemItem(many=True, required=False)
    problems_total = serializers.IntegerField(
        required=False, help_text="The number of all problems; `problems` has the first 50."
    )
