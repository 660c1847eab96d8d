import { service } from '@svc/plugin-sdk'
import type { RemoteTaskEnvelope, RemoteTaskPayload } from './envelope.ts'
import type { RemoteAttestation } from './remote-attestation.ts'

/**
 * Processor of work that other machines send to this node. If no plugin provides it, the node submits the work as a task
 * to its own orchestrator, where the agent fleet runs it.
 */
export const remoteProcessor = service<RemoteProcessor>('task.processor@1')

export interface RemoteProcessor {
  /** Name in log lines and results. */
  readonly name: string
  /**
   * Runs the work. A rejection is delivered as a failure, with the error's message. The signal is aborted when the sender
   * no longer wants the result, when another node has taken the work over, and when this process stops; only in the last
   * case the work is given to another node.
   */
  run(job: RemoteJob, signal: AbortSignal): Promise<RemoteOutcome>
}

/** Work from another machine. */
export interface RemoteJob {
  /** Identifies the work: the key of the hold, or of the message. The same work may be delivered again after a crash. */
  readonly key: string
  /** Id of the mailbox message. */
  readonly message_id: number
  /** Agent that sent it, and that gets the result. */
  readonly sender_agent_id: string
  readonly payload: RemoteTaskPayload
  /** Null for a `job_submit` message. */
  readonly envelope: RemoteTaskEnvelope | null
}

export interface RemoteOutcome {
  /** Text of the result. */
  readonly result: string
  /** Claims about the result, for the gates of the machine that sent the work; absent: none. */
  readonly attestation?: RemoteAttestation
}
