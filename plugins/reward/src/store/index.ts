// Exports of this folder for tests. Sources import the files directly.
export { loadState } from './load-state.ts'
export { Retention } from './retention.ts'
export { RewardStore } from './reward-store.ts'
export { newRows, newUserState, type UserState } from './user-state.ts'
