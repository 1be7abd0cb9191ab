// Attaching again after the server has died: resets all state that belongs to a session.
#pragma once

namespace tutti::client {

// Called when nothing of the old session is left, with the lock of client/session/renewal.h held. 0, or a CUresult.
int AttachAgain();

}  // namespace tutti::client
