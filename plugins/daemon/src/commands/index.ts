// Exports of this folder for tests. Sources import the files directly.
export { loggedErrors } from './logged-errors.ts'
