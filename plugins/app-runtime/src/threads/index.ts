// Exports of this folder for tests. Sources import the files directly.
export { answerBridge, type BridgeAnswers, type BridgeEnd, bridgeTo } from './bridge.ts'
export { HTTP_ANSWERS } from './http-requests.ts'
export { mutationKindOf } from './mutation-kind.ts'
export { OutputGate } from './output-gate.ts'
export { type AnsweringPlugins, pluginAnswers } from './plugin-answers.ts'
export { type OpenServices, openServices } from './program-services.ts'
export { ProgramWorker } from './program-worker.ts'
export { provided } from './provided.ts'
