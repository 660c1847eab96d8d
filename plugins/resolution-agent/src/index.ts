// Exports of this folder for tests. Sources import the files directly.
export { doubtQuestion, sessionOf, taskOf } from './doubt-question.ts'
export { toRewardEvent } from './reward-event.ts'
