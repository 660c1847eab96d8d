/** Topic: an event of a session was stored by this process. */
export const SESSIONS_TOPIC = 'sessions.sessions'
/** Topic: a shared value was set through an operation of this process. */
export const CONTEXT_TOPIC = 'sessions.context'
