// Exports of this folder for tests. Sources import the files directly.
export { contextBudget, handoffContext } from './agents.ts'
export { sessionMessages, sessionSearch } from './console.ts'
export { contextGet, contextList, contextSet } from './context.ts'
export { chatHistory, sessionCreate, sessionInfo, sessionList, sessionReset } from './sessions.ts'
