import { stripVTControlCharacters } from 'node:util'
import { browserErrors } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { shownAddress } from './address.ts'

/** A call of the browser, for messages. */
export type Attempt =
  | { readonly kind: 'load'; readonly url: string; readonly milliseconds: number }
  | { readonly kind: 'use'; readonly target: string; readonly milliseconds: number }
  | { readonly kind: 'picture'; readonly milliseconds: number }

/** Maps an error of the browser's driver to one of the contract. */
export function failureOf(error: unknown, attempt: Attempt): unknown {
  if (isSvcError(error)) return error
  const { name, message } = error as Error
  if (isGone(error)) return closed()
  const what = subjectOf(attempt)
  if (name === 'TimeoutError') {
    const { milliseconds } = attempt
    const late = attempt.kind === 'use' ? 'was not found or not ready' : 'did not finish'
    return browserErrors.create('BRW_TIMEOUT', `${what} ${late} after ${Math.round(milliseconds)} ms`)
  }
  const reason = reasonOf(message)
  const code = attempt.kind === 'use' ? 'BRW_TARGET' : 'BRW_NAVIGATION'
  return browserErrors.create(code, `${what}: ${reason}`)
}

/** True if the page or the browser ended before the answer. */
export function isGone(error: unknown): boolean {
  const { name = '', message = '' } = error as Partial<Error>
  return name === 'TargetClosedError' || /has been closed|page crashed|Browser closed|was detached/i.test(message)
}

export function closed(): Error {
  return browserErrors.create('BRW_CLOSED', 'the browser ended, or the page was closed, before it answered', {
    hint: 'open the page again'
  })
}

/** Why the browser did not start: the most useful line of its output. */
export function startFailure(error: unknown, executable: string): Error {
  const text = String((error as Error).message)
  // The command line names every option, so it matches every pattern below.
  const lines = text
    .split('\n')
    .map(plain)
    .filter(each => !each.startsWith('<launching>'))
  const line = lines.find(each => /no-sandbox|No usable sandbox/.test(each)) ?? lines.find(each => /DISPLAY/.test(each))
  const hint = /sandbox/.test(line ?? '')
    ? 'run svc as another user than root, or set plugins.browser.sandbox to false and open only trusted pages'
    : /DISPLAY/.test(line ?? '')
      ? 'there is no desktop for a window: open the page without one'
      : 'start it manually to see the problem, or name another one in the setting plugins.browser.executable'
  const reason = line ?? lines.find(each => /\[err\]|\berror\b/i.test(each)) ?? reasonOf(text)
  return browserErrors.create('BRW_NOT_STARTED', `${executable}: ${reason.slice(0, 300)}`, { hint })
}

function subjectOf(attempt: Attempt): string {
  if (attempt.kind === 'load') return shownAddress(attempt.url)
  return attempt.kind === 'use' ? attempt.target : 'the screenshot of the page'
}

/** The first line, without the name of the driver's function and without a URL. */
function reasonOf(message: string): string {
  const [first = ''] = message.split('\n')
  const reason = plain(first)
    .replace(/^(?:\w+\.\w+: )+/, '')
    .replace(/^Error: /, '')
  return reason.replace(/ at https?:\/\/\S+$/, '')
}

/** Without colours and log prefixes. */
function plain(line: string): string {
  return stripVTControlCharacters(line)
    .replace(/^\s*-?\s*(?:\[pid=\d+\]\s*)?(?:\[err\]\s*)?/, '')
    .trim()
}
