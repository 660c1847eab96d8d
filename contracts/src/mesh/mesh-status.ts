import { service } from '@svc/plugin-sdk'

/** Whether this machine belongs to a mesh. Without a provider, there is none. */
export const meshStatus = service<MeshStatus>('mesh.status@1')

export interface MeshStatus {
  /** Value of SVC_MESH_ENABLED. */
  enabled(): boolean
}
