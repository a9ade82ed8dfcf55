"""What is decided about a study's board of systems: its hidden part, public page and further systems."""

from typing import Any

from django.urls import reverse

from api.access import creator
from api.resources import Resource, endpoint
from api.serializers.boards import (
    BoardSerializer,
    HiddenPartOptions,
    SystemThatJoins,
    WaitingMachines,
)
from metrics.results.board import board_for, hide_part, publish_board, withdraw_board
from metrics.results.joining import join_or_go_on, systems_to_join
from studies.models import Study
from studies.public_address import public_url


class Boards(Resource):
    tag = "board of systems"

    @endpoint(gives=BoardSerializer)
    def list(self) -> Any:
        """Read what was decided about a study's board of systems.

        Its numbers are in the section `leaderboard` of the results.
        """
        return self._shown(self.study())

    @endpoint(detail=False, url_path="hidden-part", takes=HiddenPartOptions, gives=BoardSerializer)
    def hide(self) -> Any:
        """Hide a part of the instances from the board for good.

        The board then leaves out annotators' ratings of it, and says how well machine raters foretell them.
        """
        study = self.study()
        hide_part(study=study, by=self.by, **self.values)
        return self._shown(study)

    @endpoint(detail=False, gives=BoardSerializer)
    def publish(self) -> Any:
        """Let everybody read the board at its address.

        The study must be closed, and its board computed.
        """
        study = self.study()
        publish_board(study=study, by=self.by)
        return self._shown(study)

    @endpoint(detail=False, gives=BoardSerializer)
    def withdraw(self) -> Any:
        """Withdraw the public page of the board.

        Its address stays the same.
        """
        study = self.study()
        withdraw_board(study=study, by=self.by)
        return self._shown(study)

    @endpoint(
        detail=False,
        url_path="systems",
        takes=SystemThatJoins,
        is_upload=True,
        gives=WaitingMachines,
    )
    def join(self) -> dict[str, Any]:
        """Let a further system join an opened study.

        Only machine raters judge it, in a closed study of its own. Repeat the request without texts to let
        those go on that wait.
        """
        creator(self.request)
        is_new, waiting = join_or_go_on(study=self.study(), by=self.by, **self.values)
        return {"has_joined": is_new, "waiting": waiting}

    def _shown(self, study: Study) -> Any:
        board = board_for(study)
        path = reverse("metrics:public-board", args=[board.public_id])
        return {
            "hidden_percent": board.hidden_percent,
            "hidden_seed": None if board.hidden_percent is None else board.hidden_seed,
            "fixed_at": board.fixed_at,
            "published_at": board.published_at,
            "address": public_url(self.request._request, path) if board.published_at else None,
            "joined": study.joined_systems.select_related("system"),
            "can_join": [] if study.status == Study.Status.DRAFT else systems_to_join(study),
        }
