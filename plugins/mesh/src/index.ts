// Exports of this folder for tests. Sources import the files directly.
export { MembershipFile } from './membership.ts'
export { storedNodeId } from './node-id.ts'
