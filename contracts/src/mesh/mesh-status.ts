import { service } from '@svc/plugin-sdk'

/** Reports whether this machine belongs to a mesh. If no plugin provides the service, it does not. */
export const meshStatus = service<MeshStatus>('mesh.status@1')

export interface MeshStatus {
  /** Value of SVC_MESH_ENABLED. */
  enabled(): boolean
}
