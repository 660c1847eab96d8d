import { stripVTControlCharacters } from 'node:util'
import { browserErrors } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { shownAddress } from './address.ts'

/** The attempted action, for messages. */
export type Attempt =
  | { readonly kind: 'load'; readonly url: string; readonly milliseconds: number }
  | { readonly kind: 'use'; readonly target: string; readonly milliseconds: number }
  | { readonly kind: 'picture'; readonly milliseconds: number }

/** Maps an error of playwright to a `BRW_` error. */
export function failureOf(error: unknown, attempt: Attempt): unknown {
  if (isSvcError(error)) return error
  const { name, message } = error as Error
  if (isGone(error)) return closed()
  const subject = subjectOf(attempt)
  if (name === 'TimeoutError') {
    const { milliseconds } = attempt
    const problem = attempt.kind === 'use' ? 'was not found or not ready' : 'did not finish'
    return browserErrors.create('BRW_TIMEOUT', `${subject} ${problem} within ${Math.round(milliseconds)} ms`)
  }
  const reason = reasonOf(message)
  const code = attempt.kind === 'use' ? 'BRW_TARGET' : 'BRW_NAVIGATION'
  return browserErrors.create(code, `${subject}: ${reason}`)
}

/** True if the error means that the page or the browser has ended. */
export function isGone(error: unknown): boolean {
  const { name = '', message = '' } = error as Partial<Error>
  return name === 'TargetClosedError' || /has been closed|page crashed|Browser closed|was detached/i.test(message)
}

export function closed(): Error {
  return browserErrors.create('BRW_CLOSED', 'the browser ended or the page was closed during the call', {
    hint: 'open the page again'
  })
}

/** Returns the error of a failed start, with the most useful line of the browser's output. */
export function startFailure(error: unknown, executable: string): Error {
  const text = String((error as Error).message)
  // The line with the command is removed: its options would match the patterns below.
  const lines = text
    .split('\n')
    .map(plain)
    .filter(each => !each.startsWith('<launching>'))
  const line = lines.find(each => /no-sandbox|No usable sandbox/.test(each)) ?? lines.find(each => /DISPLAY/.test(each))
  const hint = /sandbox/.test(line ?? '')
    ? 'run svc as another user than root, or set plugins.browser.sandbox to false and open only trusted pages'
    : /DISPLAY/.test(line ?? '')
      ? 'no desktop is available for a window: open the page headless'
      : 'start the browser manually to see the problem, or set plugins.browser.executable to another one'
  const reason = line ?? lines.find(each => /\[err\]|\berror\b/i.test(each)) ?? reasonOf(text)
  return browserErrors.create('BRW_NOT_STARTED', `${executable}: ${reason.slice(0, 300)}`, { hint })
}

function subjectOf(attempt: Attempt): string {
  if (attempt.kind === 'load') return shownAddress(attempt.url)
  return attempt.kind === 'use' ? attempt.target : 'the screenshot of the page'
}

/** Returns the first line of a message, without playwright's function name and without the URL. */
function reasonOf(message: string): string {
  const [first = ''] = message.split('\n')
  const reason = plain(first)
    .replace(/^(?:\w+\.\w+: )+/, '')
    .replace(/^Error: /, '')
  return reason.replace(/ at https?:\/\/\S+$/, '')
}

/** Removes colours and log prefixes. */
function plain(line: string): string {
  return stripVTControlCharacters(line)
    .replace(/^\s*-?\s*(?:\[pid=\d+\]\s*)?(?:\[err\]\s*)?/, '')
    .trim()
}
