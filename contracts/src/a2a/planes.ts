import { point } from '@svc/plugin-sdk'
import type { A2aMessage, A2aSend } from './bus.ts'

/** Planes that carry messages between agents. The plugin `a2a` contributes `local` and `db`. */
export const a2aPlanes = point<A2aPlane>('a2a.planes', { keys: plane => [plane.route] })

export interface A2aPlane {
  /** Token in `route` and `source`, for example `mesh`. */
  readonly route: string
  /** Name in `delivery_plane`, for example `remote_mesh`. */
  readonly plane: string
  send(message: PlaneMessage): Promise<PlaneReceipt>
  /**
   * Returns an agent's pending messages, at most `limit`, highest priority first. Claims them if the plane supports
   * claims.
   */
  inbox(
    agent: number,
    options: { readonly limit: number; readonly before?: number | undefined }
  ): Promise<readonly A2aMessage[]>
  /** Acknowledges a message. Returns whether the agent had it. */
  ack(agent: number, message: number | string): Promise<boolean>
  health(): { readonly ok: boolean; readonly detail?: string }
}

export type PlaneMessage = Omit<A2aSend, 'route'>

export interface PlaneReceipt {
  /** Number of the message within its plane. */
  readonly id: number
  readonly uuid: string | null
  /** Older messages that a full inbox dropped to make room for this one. */
  readonly dropped: number
  /** Whether a message with this idempotency key was sent before. The receipt is then that of the earlier message. */
  readonly repeated: boolean
  readonly timestamp_ms: number
}
