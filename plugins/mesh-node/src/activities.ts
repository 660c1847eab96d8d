import { setTimeout as delay } from 'node:timers/promises'
import {
  type MeshActivities,
  type MeshActivityOutcome,
  type MeshActivityRequest,
  type MeshMessage,
  type MeshPolicy,
  type NodeRecord,
  type NodeReport,
  REMOTE_TASK_CANCEL
} from '@svc/contracts'
import { errorMessage, type Logger, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import type { MeshClient } from './client.ts'
import { CANCEL_PRIORITY, cancelOf } from './envelope.ts'
import { meshNodeErrors } from './errors.ts'
import { hintOf, isNodeRecord } from './hints.ts'
import { mailboxOf } from './mailboxes.ts'
import { JOB_FAIL, JOB_RESULT, JOB_SUBMIT, jobKey } from './messages.ts'

/** Inbox of work if no receiving agent is set. */
const DEFAULT_RECEIVER = '2'
/** Message to the mailbox of the answer, with the inbox to which the job was delivered. */
const JOB_CHOICE = 'job_choice'
/** Milliseconds that the control plane may wait for the answer before it answers itself. */
const WAIT_MS = 20_000
/** Minimum interval of looks for an answer in milliseconds, for a control plane without long polls. */
const LOOK_MS = 500
const MAX_MESSAGES = 16

const answer = schemaCheck(
  t.object(
    { success: t.boolean(), result: t.optional(t.string()), error: t.optional(t.string()) },
    { additionalProperties: true }
  )
)

export interface ActivityOptions {
  readonly client: MeshClient
  /** Id of this node. */
  readonly node: () => string
  readonly report: (signal: AbortSignal) => Promise<NodeReport>
  readonly policy: () => Pick<MeshPolicy, 'remote_execute_receiver_agent' | 'stale_threshold_ms'>
  readonly log: Logger
}

/**
 * Runs the `mesh_…` activities of workflows.
 *
 * `dispatch` sends a `job_submit` to a node with the labels, and returns its result. With an argument `job`, it returns
 * that name at once, and a later `wait` with the same argument returns the result.
 */
export function meshActivitiesOf(options: ActivityOptions): MeshActivities {
  return {
    async run(request, signal) {
      const { client, node } = options
      if (!client.configured) return { control: 'local_registry_only', node_id: node() }
      switch (request.operation) {
        case 'noop':
          return { control: 'noop', node_id: node() }
        case 'join':
          await client.join(await options.report(signal), signal)
          return { control: 'join_ok', node_id: node() }
        case 'heartbeat':
          await client.heartbeat(await options.report(signal), signal)
          return { control: 'heartbeat_ok', node_id: node() }
        case 'snapshot': {
          const { list } = await client.nodes(null, signal)
          return {
            control: 'snapshot_ok',
            node_count: list?.nodes.length ?? 0,
            schema_version: list?.schema_version ?? 1
          }
        }
        case 'dispatch':
          return dispatch(request, options, signal)
        case 'wait':
          return result(jobOf(request) ?? missingJob(request), options, 'wait_ok', signal)
      }
    }
  }
}

async function dispatch(
  request: MeshActivityRequest,
  options: ActivityOptions,
  signal: AbortSignal
): Promise<MeshActivityOutcome> {
  const named = jobOf(request)
  const job = named ?? request.key
  const { client } = options
  const reply = replyTo(job)
  const receiver = await chooseOnce(job, request.labels, options, signal)
  const message_id = await client.deliver(
    {
      sender_agent_id: reply,
      receiver_agent_id: receiver,
      message_type: JOB_SUBMIT,
      payload: JSON.stringify(payloadOf(request)),
      idempotency_key: job
    },
    signal
  )
  if (named !== null) return { control: 'dispatch_ok', output: named }
  try {
    return await result(job, options, 'dispatch_ok', signal)
  } catch (error) {
    // At the time limit, the job is no longer wanted. When this process stops, the step is requested again.
    if (signal.aborted && (signal.reason as Error | undefined)?.name === 'TimeoutError')
      await cancel(job, receiver, message_id, options)
    throw error
  }
}

/** Waits for the answer to a job and removes it. Rejects if the job failed. */
async function result(
  job: string,
  { client }: ActivityOptions,
  control: string,
  signal: AbortSignal
): Promise<MeshActivityOutcome> {
  const reply = replyTo(job)
  for (;;) {
    const startedAt = performance.now()
    const { messages } = await client.inbox(
      { receiver_agent_id: reply, max_messages: MAX_MESSAGES, wait_ms: WAIT_MS },
      signal
    )
    const found = messages.find(({ message_type }) => message_type === JOB_RESULT || message_type === JOB_FAIL)
    if (found !== undefined) {
      for (const { id } of messages) await client.ack(reply, id, undefined, signal)
      return { control, ...outcomeOf(found) }
    }
    // The mailbox has the choice of the node, so that the control plane answers at once.
    await delay(Math.max(0, LOOK_MS - (performance.now() - startedAt)), undefined, { signal })
  }
}

function outcomeOf({ payload }: MeshMessage): Pick<MeshActivityOutcome, 'output' | 'node_id'> {
  let value: unknown
  try {
    value = JSON.parse(payload)
  } catch {
    value = null
  }
  const checked = answer(value)
  if (!checked.ok) throw meshNodeErrors.create('MND_PAYLOAD_INVALID', `the result of a job: ${checked.text}`)
  const { success, result: output = '', error = 'failed on another machine' } = checked.value
  if (!success) throw meshNodeErrors.create('MND_PROCESSOR_FAILED', error)
  const { claimer_node_id: node } = checked.value as Readonly<Record<string, unknown>>
  return { output, ...(typeof node === 'string' ? { node_id: node } : null) }
}

/**
 * Returns the inbox for a job. The first choice is kept in the mailbox of the answer: if the step is requested again after
 * a restart, the job goes to the same inbox, where its key was used before.
 */
async function chooseOnce(
  job: string,
  labels: readonly string[],
  options: ActivityOptions,
  signal: AbortSignal
): Promise<string> {
  const { client, policy } = options
  const shared = policy().remote_execute_receiver_agent ?? DEFAULT_RECEIVER
  if (labels.length === 0) return shared
  const reply = replyTo(job)
  const choice = await inboxWith(labels, options, signal)
  await client.deliver(
    {
      sender_agent_id: reply,
      receiver_agent_id: reply,
      message_type: JOB_CHOICE,
      payload: choice,
      idempotency_key: job
    },
    signal
  )
  const { messages } = await client.inbox({ receiver_agent_id: reply, max_messages: MAX_MESSAGES }, signal)
  return messages.find(({ message_type }) => message_type === JOB_CHOICE)?.payload ?? choice
}

/** Returns the mailbox of a random node that runs work and has all labels. */
async function inboxWith(
  labels: readonly string[],
  { client, policy }: ActivityOptions,
  signal: AbortSignal
): Promise<string> {
  const { list } = await client.nodes(null, signal)
  const { stale_threshold_ms: staleMs } = policy()
  const now = Date.now()
  const fit = (list?.nodes ?? []).filter(isNodeRecord).flatMap(node => {
    const hint = hintOf(node, now, staleMs)
    const isFree = !hint.maintenance && !hint.quarantined && !hint.heartbeat_stale
    return isFree && labels.every(label => hint.labels.includes(label)) ? (inboxOf(node) ?? []) : []
  })
  const chosen = fit[Math.floor(Math.random() * fit.length)]
  if (chosen !== undefined) return chosen
  throw meshNodeErrors.create('MND_NO_NODE', `no node that runs work has the labels ${labels.join(', ')}`, {
    hint: 'svc mesh status shows the nodes with their labels; set SVC_MESH_LABELS on one of them'
  })
}

function inboxOf(node: NodeRecord): string | null {
  const { inbox_agent_id: inbox } = node
  return typeof inbox === 'string' && /^[0-9]{1,20}$/.test(inbox) ? inbox : null
}

async function cancel(job: string, receiver: string, message: number, { client, log }: ActivityOptions): Promise<void> {
  try {
    await client.ack(receiver, message)
    await client.deliver({
      sender_agent_id: replyTo(job),
      receiver_agent_id: receiver,
      message_type: REMOTE_TASK_CANCEL,
      payload: JSON.stringify(cancelOf(jobKey(replyTo(job), job), 0, 'the time limit of the step is over')),
      idempotency_key: `cancel-${job}`,
      priority: CANCEL_PRIORITY
    })
  } catch (error) {
    log.debug('a job could not be cancelled', { job, reason: errorMessage(error) })
  }
}

function payloadOf({ args, labels, workflow, activity }: MeshActivityRequest): object {
  const [text] = [args.task, args.description, ...Object.values(args)].filter(each => typeof each === 'string')
  return {
    task_description: text ?? `${activity}(${JSON.stringify(args)})`,
    assigned_agent_id: 0,
    workflow,
    activity,
    labels,
    args
  }
}

/** Returns the name of a job that a workflow has chosen; null if there is none. */
function jobOf({ args, workflow }: MeshActivityRequest): string | null {
  const { job } = args
  return typeof job === 'string' && job !== '' ? `${workflow}:${job}`.slice(0, 1_024) : null
}

function missingJob({ activity }: MeshActivityRequest): never {
  throw meshNodeErrors.create('MND_PAYLOAD_INVALID', `${activity}: the step wait has no argument job`, {
    hint: 'pass the same job as to the step dispatch'
  })
}

function replyTo(job: string): string {
  return mailboxOf(`job ${job}`)
}
