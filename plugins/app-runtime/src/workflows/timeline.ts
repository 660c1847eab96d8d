/** State of a bar in the timeline of a run. */
export type BarState =
  | 'pending'
  | 'running'
  | 'waiting'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'interrupted'
  | 'cancelled'
  | 'received'

/** Part of a run that takes time: an attempt, a wait, a child run. Times are Unix milliseconds. */
export interface TimelineBar {
  /** Name of the activity with its step, or of the run. */
  readonly lane: string
  readonly start: number
  /** null while it lasts. */
  readonly end: number | null
  readonly state: BarState
  /** Number of the attempt; null for anything but activities. */
  readonly attempt: number | null
  /** Details: the error, the awaited signal, the time of the next attempt. */
  readonly label: string
}

/** Stored data of one run. Times are Unix milliseconds. */
export interface TimelineSource {
  readonly run: {
    readonly workflow: string
    readonly status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
    readonly start: number
    readonly end: number | null
    readonly error: string | null
  }
  /** Journal in order, each entry as JSON. */
  readonly journal: readonly { readonly entry: Readonly<Record<string, unknown>>; readonly at: number }[]
  /** Starts of attempts. */
  readonly starts: readonly { readonly step: string; readonly attempt: number; readonly at: number }[]
  /** Waits that were begun: the due time of a timer; null for a signal. */
  readonly waits: readonly { readonly step: string; readonly at: number; readonly due: number | null }[]
  readonly signals: readonly { readonly key: string; readonly at: number; readonly consumed: number | null }[]
  readonly children: readonly {
    readonly runId: string
    readonly workflow: string
    readonly status: TimelineSource['run']['status']
    readonly start: number
    readonly end: number | null
  }[]
  /** Key of the signal that the run waits for. */
  readonly waitingFor: string | null
}

const MAX_LABEL = 200

const TIMER = 'workflow_wait'
const SIGNAL = 'workflow_wait_signal'

/** Returns the bars of a run: the run itself, then each step in the order of its start, signals and child runs. */
export function timelineBars(source: TimelineSource): TimelineBar[] {
  const { run, signals, children } = source
  const steps = new StepBars(source)
  for (const { entry, at } of source.journal) steps.read(entry, at)
  return [
    bar(run.workflow, run.start, run.end, run.status, run.error ?? ''),
    ...steps.end(),
    ...children.map(child => bar(`workflow ${child.workflow}`, child.start, child.end, child.status, child.runId)),
    ...signals.map(({ key, at, consumed }) => {
      const label = consumed === null ? `signal ${key}; the run has not read it` : `signal ${key}`
      return bar(`signal ${key}`, at, consumed ?? run.end, consumed === null ? 'received' : 'completed', label)
    })
  ]
}

function bar(
  lane: string,
  start: number,
  end: number | null,
  state: BarState,
  label: string,
  attempt: number | null = null
): TimelineBar {
  const text = label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL)}…` : label
  return { lane, start, end: end === null ? null : Math.max(start, end), state, attempt, label: text }
}

interface OpenBar {
  readonly lane: string
  readonly start: number
  readonly state: BarState
  readonly attempt: number | null
  readonly label: string
}

/** Reads a journal into bars. A step has one open bar at a time: an attempt, or the wait before or instead of it. */
class StepBars {
  readonly #source: TimelineSource
  /** Start of each attempt by its number, by step. */
  readonly #starts = new Map<string, Map<number, number>>()
  readonly #bars: TimelineBar[] = []
  readonly #open = new Map<string, OpenBar>()

  constructor(source: TimelineSource) {
    this.#source = source
    for (const { step, attempt, at } of source.starts) {
      const known = this.#starts.get(step) ?? new Map<number, number>()
      this.#starts.set(step, known.set(attempt, at))
    }
  }

  read(entry: Readonly<Record<string, unknown>>, at: number): void {
    const { event, activity_id: id, activity } = entry
    if (typeof id !== 'string' || typeof activity !== 'string') return
    const lane = laneOf(activity, id)
    switch (event) {
      case 'ActivityStarted':
        this.#open.set(id, this.#started(id, activity, lane, at))
        break
      case 'ActivityAttemptFailed': {
        const next = this.#attemptOf(id, Number(entry.attempt), lane, at)
        this.#close(id, next, at, 'failed', String(entry.error ?? ''))
        break
      }
      case 'ActivityRetryScheduled': {
        const due = at + Number(entry.delay_ms)
        const label = `attempt ${entry.next_attempt} at ${new Date(due).toISOString()}`
        this.#open.set(id, { lane, start: at, state: 'retrying', attempt: Number(entry.next_attempt), label })
        break
      }
      case 'ActivityAttemptRecovered': {
        const attempt = Number(entry.resume_attempt)
        const open = this.#attemptOf(id, attempt, lane, at)
        this.#close(id, open, at, 'interrupted', 'the process ended; the attempt runs again')
        this.#open.set(id, { lane, start: at, state: 'running', attempt, label: '' })
        break
      }
      case 'BranchDecision':
        this.#bars.push(bar(lane, at, at, 'completed', String(entry.branch ?? '')))
        break
      case 'ActivityCompleted': {
        if (entry.replayed === true) break
        const open = this.#open.get(id)
        // The last attempt may have failed and its Error be the result of the step.
        if (open !== undefined) this.#close(id, this.#current(id, open, at), at, 'completed', '')
        break
      }
    }
  }

  /** Returns all bars. Those of steps that have not ended are open, unless the run has ended. */
  end(): TimelineBar[] {
    const { run } = this.#source
    for (const [id, open] of this.#open) {
      const current = this.#current(id, open, Number.POSITIVE_INFINITY)
      const state = run.end === null ? current.state : run.status
      this.#bars.push(bar(current.lane, current.start, run.end, state, current.label, current.attempt))
    }
    return this.#bars.sort((a, b) => a.start - b.start)
  }

  #started(id: string, activity: string, lane: string, at: number): OpenBar {
    if (activity === TIMER) {
      const due = this.#source.waits.find(({ step }) => step === id)?.due ?? null
      return { lane, start: at, state: 'waiting', attempt: null, label: due === null ? '' : `until ${isoTime(due)}` }
    }
    if (activity === SIGNAL) {
      const { waitingFor } = this.#source
      return { lane, start: at, state: 'waiting', attempt: null, label: waitingFor === null ? '' : `for ${waitingFor}` }
    }
    return { lane, start: at, state: 'running', attempt: 1, label: '' }
  }

  /** Returns the open bar of a step. A wait for a retry has become its attempt, if that has started. */
  #current(id: string, open: OpenBar, at: number): OpenBar {
    return open.attempt === null ? open : this.#attemptOf(id, open.attempt, open.lane, at)
  }

  /** Returns the open bar of an attempt. If the wait before it is open, ends that wait at the start of the attempt. */
  #attemptOf(id: string, attempt: number, lane: string, at: number): OpenBar {
    const open = this.#open.get(id)
    if (open !== undefined && open.state !== 'retrying' && (open.attempt ?? attempt) === attempt) return open
    const start = this.#starts.get(id)?.get(attempt)
    if (open?.state === 'retrying') {
      if (start === undefined) return open
      this.#bars.push(bar(lane, open.start, Math.min(start, at), 'retrying', open.label, open.attempt))
    }
    return { lane, start: start ?? at, state: 'running', attempt, label: '' }
  }

  #close(id: string, open: OpenBar, at: number, state: BarState, label: string): void {
    this.#open.delete(id)
    this.#bars.push(bar(open.lane, open.start, at, state, label === '' ? open.label : label, open.attempt))
  }
}

function laneOf(activity: string, id: string): string {
  if (activity === TIMER) return `timer ${id}`
  if (activity === SIGNAL) return `signal wait ${id}`
  return `${activity} (${id})`
}

function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
