// Exports of this folder for tests. Sources import the files directly.
export { sessionFileName, sessionIds } from './session-id.ts'
export { eventOf, type SessionEvent, SessionFold, type SessionStateName, TRANSITIONS } from './session-state.ts'
export { Sessions } from './sessions.ts'
