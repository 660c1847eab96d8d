export interface FixedHint {
  /** Kind of mistake, such as `build_failure`. */
  readonly kind: string
  /** Text that this plugin contains. */
  readonly text: string
}

/** Returns the prompt for a hint. It contains nothing else: no code, path, argument or name. */
export function promptFor({ kind, text }: FixedHint): string {
  return [
    'A developer made a mistake and gets the advice below. Say in at most two short sentences why the advice helps and',
    'what to do next. Write plain text without Markdown. Keep commands as they are.',
    '',
    `Kind of mistake: ${kind.replaceAll('_', ' ')}`,
    `Advice: ${text}`
  ].join('\n')
}
