// Exports of this folder for tests. Sources import the files directly.
export { newRows, newUserState, type UserState } from './user-state.ts'
