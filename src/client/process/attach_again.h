// Attaching once more, after the server has died: what the session is used for begins anew.
#pragma once

namespace tutti::client {

// Nothing is left that belongs to the old session (client/session/renewal.h, which holds its lock). 0, or a CUresult.
int AttachAgain();

}  // namespace tutti::client
