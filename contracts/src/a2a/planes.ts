import { point } from '@svc/plugin-sdk'
import type { A2aMessage, A2aSend, DeadLetter, NackOptions } from './bus.ts'

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
  /** Acknowledges a message. Returns whether the agent had it. A plane with leases refuses a `fence` that is not current. */
  ack(agent: number, message: number | string, fence?: number): Promise<boolean>
  /** Only for planes with leases, whose messages have a `fence`; see {@link DeliveryLeases}. */
  readonly leases?: DeliveryLeases
  health(): { readonly ok: boolean; readonly detail?: string }
}

/**
 * Leases of a plane. Messages with `delay_ms` or `max_attempts` are sent only over a plane with leases. Methods with a
 * fence return false if it is not current.
 */
export interface DeliveryLeases {
  /** `leaseMs`: default of the plane. */
  extend(agent: number, message: number | string, fence: number, leaseMs?: number): Promise<boolean>
  nack(agent: number, message: number | string, fence: number, options: NackOptions): Promise<boolean>
  /** Returns the dead letters of an agent, or of all agents, newest first. */
  dead(
    agent: number | null,
    page: { readonly limit: number; readonly before?: number | undefined }
  ): Promise<readonly DeadLetter[]>
  revive(agent: number, messages: readonly number[]): Promise<number>
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
