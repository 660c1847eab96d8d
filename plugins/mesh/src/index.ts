// Exports of this folder for tests. Sources import the files directly.
export { MembershipFile } from './membership.ts'
export { faultsOf } from './mesh-faults.ts'
export { MeshReader } from './mesh-reading.ts'
export { leaseRow, leaseRowOf, nodeRow, nodeRowOf } from './mesh-rows.ts'
export { storedNodeId } from './node-id.ts'
