import { bucket } from './fnv1a.ts'

export interface HintKind {
  readonly kind: string
  /** Events that show the mistake. */
  readonly events: readonly string[]
  readonly cooldownSeconds: number
  /** Hints, shown one after the other. */
  readonly texts: readonly string[]
}

/** Kinds of mistakes, with the time that must pass between two hints: 300 s to 24 h. */
export const HINT_KINDS: readonly HintKind[] = [
  {
    kind: 'build_failure',
    events: ['build_failed'],
    cooldownSeconds: 600,
    texts: [
      'Read the first error first; later ones often follow from it. svc check FILE shows each with its place.',
      'Check before you build: svc check FILE takes less time than a build.'
    ]
  },
  {
    kind: 'check_failure',
    events: ['check_failed'],
    cooldownSeconds: 300,
    texts: [
      'Each finding has a correction hint: svc check FILE --json shows it.',
      'An editor shows findings while you type: start svc lsp in it.'
    ]
  },
  {
    kind: 'test_failure',
    events: ['test_fail'],
    cooldownSeconds: 600,
    texts: [
      'Run only the failing test until it passes, then the whole suite.',
      'A test that fails by turns depends on time or order. Fix that before the code.'
    ]
  },
  {
    kind: 'task_failure',
    events: ['task_failed'],
    cooldownSeconds: 1_800,
    texts: [
      'Split a failed task into smaller ones: svc plan new GOAL drafts the steps.',
      'Name the files that a task may change; agents then wait for each other less.'
    ]
  },
  {
    kind: 'doubted_result',
    events: ['task_doubted'],
    cooldownSeconds: 3_600,
    texts: [
      'A doubt costs less than a wrong result. Answer it in the inbox of the console, or with svc questions answer.'
    ]
  },
  {
    kind: 'stub_debt',
    events: ['stub_check_debt'],
    cooldownSeconds: 21_600,
    texts: ['Resolve placeholders before they spread: svc stub-check lists them by severity.']
  },
  {
    kind: 'scope_violation',
    events: ['scope_violation'],
    cooldownSeconds: 3_600,
    texts: ['An agent wrote outside the files of its task. Name all files that the task needs.']
  },
  {
    kind: 'undone_work',
    events: ['operation_undone'],
    cooldownSeconds: 7_200,
    texts: ['Capture a snapshot before a large change, so that you can return to it.']
  },
  {
    kind: 'cost',
    events: ['cost_incurred'],
    cooldownSeconds: 86_400,
    texts: [
      'Local models cost nothing: svc models list shows which are installed. svc orch budget shows what was spent.'
    ]
  }
]

const BY_EVENT: ReadonlyMap<string, HintKind> = new Map(
  HINT_KINDS.flatMap(each => each.events.map(event => [event, each] as const))
)

/** Returns the kind of mistake that an event shows; null if it shows none. */
export function hintKindOf(event: string): HintKind | null {
  return BY_EVENT.get(event) ?? null
}

/** State of one kind of mistake of a user. */
export interface HintState {
  /** Mistakes of this kind so far, with the current one. */
  readonly occurrences: number
  /** Unix milliseconds of the last hint; null if there was none. */
  readonly lastHintAt: number | null
  readonly hintsShown: number
}

export type HintDecision =
  | { readonly show: true; readonly text: string }
  | { readonly show: false; readonly reason: 'mode' | 'cooldown' | 'frequency' }

/**
 * Decides about a hint. `frequency`: share of mistakes with a hint, 0 to 1. The choice depends on the user and on the
 * number of the mistake only, so that it can be repeated.
 */
export function decideHint(
  { kind, cooldownSeconds, texts }: HintKind,
  { occurrences, lastHintAt, hintsShown }: HintState,
  { user, frequency, now }: { readonly user: string; readonly frequency: number; readonly now: number }
): HintDecision {
  if (frequency <= 0) return { show: false, reason: 'mode' }
  if (lastHintAt !== null && now - lastHintAt < cooldownSeconds * 1_000) return { show: false, reason: 'cooldown' }
  if (bucket(1_000, user, kind, String(occurrences)) >= frequency * 1_000) return { show: false, reason: 'frequency' }
  return { show: true, text: texts[hintsShown % texts.length] ?? '' }
}

/** Returns all fixed texts of a kind of mistake; an empty text for an unknown kind. */
export function textOfKind(name: string): string {
  return HINT_KINDS.find(({ kind }) => kind === name)?.texts.join(' ') ?? ''
}
