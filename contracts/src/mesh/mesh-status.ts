import { service } from '@svc/plugin-sdk'

/** Whether this machine belongs to a mesh. Where nobody provides it, there is none. */
export const meshStatus = service<MeshStatus>('mesh.status@1')

export interface MeshStatus {
  /** What SVC_MESH_ENABLED says. */
  enabled(): boolean
}
