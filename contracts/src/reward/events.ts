import { hook, type PluginContext } from '@svc/plugin-sdk'

/**
 * Notifies the reward component of an event. Send it with {@link sendReward}, which costs one look-up without taps. The
 * trigger does not wait for the taps; an error of a tap is reported and the tap skipped. Taps select events with
 * `filter: { type: … }`.
 */
export const rewardEvents = hook<[event: RewardEvent]>('reward.event', 'series', {
  onError: 'skip',
  summary:
    'When work was done: a task changed its state, a program was checked, built, tested or formatted, a tool was called, a file lost its last finding, a doubt was resolved.',
  payload: { type: 'kind of the event, such as task_completed' }
})

/** Event as JSON; at most 262,144 bytes. */
export interface RewardEvent {
  /** Name in lower case with underscores, such as `task_completed`. Events of unknown types earn nothing. */
  readonly type: string
  /** Id of the agent that did the work. */
  readonly agent_id?: number | string
  /** Events with the same id count once. */
  readonly ludus_dedupe_id?: string
  readonly [more: string]: unknown
}

/** Event for a file whose last finding was resolved. */
export interface DiagnosticsCleanEvent extends RewardEvent {
  readonly type: 'diagnostics_clean'
  /** URI of the file. */
  readonly file: string
}

/** Event for a tool of MCP that was called with success. */
export interface McpToolCalledEvent extends RewardEvent {
  readonly type: 'mcp_tool_called'
  readonly tool: string
  /** Plugin of the tool. */
  readonly plugin: string
  /** Arguments without those that the tool declares as secret. */
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Event for a doubt that was resolved, with the audit report. */
export interface TaskResolvedEvent extends RewardEvent {
  readonly type: 'task_resolved'
  readonly task_id: number
  readonly agent_id: number
  /** True: the doubt was right, and the task continues. False: it was wrong, and the task is complete. */
  readonly validated: boolean
  /** Audit report, at most 60,000 characters. */
  readonly report: string
  readonly ludus_dedupe_id: string
}

/**
 * Sends an event to the reward component. Without a tap, it only looks the hook up and does not create the event. Never
 * throws, and does not wait.
 */
export function sendReward<E extends RewardEvent>(
  ctx: Pick<PluginContext, 'isTapped' | 'trigger' | 'log'>,
  event: () => E
): void {
  if (!ctx.isTapped(rewardEvents)) return
  try {
    ctx.trigger(rewardEvents, event()).catch((error: unknown) => report(ctx, error))
  } catch (error) {
    report(ctx, error)
  }
}

function report({ log }: Pick<PluginContext, 'log'>, error: unknown): void {
  log.warn('a reward event could not be sent', { error })
}
