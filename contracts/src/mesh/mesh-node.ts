import { service } from '@svc/plugin-sdk'

/** This process as a node of a mesh. */
export const meshNode = service<MeshNode>('mesh.node@1')

export interface MeshNode {
  /** Id under which this process joins: that of the machine, with a number if another process of it runs already. */
  readonly id: string
  /** Whether its loops run. */
  readonly running: boolean
  /**
   * Joins the mesh, and starts the heartbeat and the polls, if a control URL is set; no effect while they run. Called by
   * long-running surfaces; `svc serve` needs no call.
   */
  start(): void
}
