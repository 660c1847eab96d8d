import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { Script } from 'node:vm'
import { isSvcError } from '@svc/plugin-sdk'
import { bundlePath } from '../loader/bundle.ts'
import { manifestOf } from '../loader/describe.ts'
import { loaderErrors } from '../loader/errors.ts'
import { withPackages } from '../loader/evaluate.ts'
import { ANSWER_DESCRIPTOR, type DescriberReply, type Question } from './describe-protocol.ts'
import { encodeError } from './remote-error.ts'

/** The host kills a late child. The child exits when the host has ended. */
const HOST_IS_FIRST_MS = 1_000

const { stringify } = JSON

function answer(given: DescriberReply): void {
  const bytes = Buffer.from(`${stringify(given)}\n`)
  for (let at = 0; at < bytes.length; ) at += writeSync(ANSWER_DESCRIPTOR, bytes, at)
}

/** Interrupts a function that runs too long, which a timer of the same thread cannot do. */
function withinTime<A>(run: () => A, timeoutMs: number): A {
  const script = new Script('__svc_run()')
  Object.assign(globalThis, { __svc_run: run })
  return script.runInThisContext({ timeout: timeoutMs }) as A
}

async function reply(question: Question): Promise<void> {
  if (question.type === 'warm') {
    for (const specifier of question.specifiers) load(question.root, specifier)
    answer({ type: 'ready' })
    return
  }
  const { id, name, root, version, text, timeoutMs } = question
  answer({ type: 'begun', id })
  try {
    const code = await withPackages({ name, root, text })
    const manifest = await withinTime(() => manifestOf(code, version), timeoutMs + HOST_IS_FIRST_MS)
    answer({ type: 'manifest', id, manifest })
  } catch (error) {
    answer({ type: 'failure', id, error: encodeError(refusal(name, error) ?? error) })
  }
}

/** Loads a package before the code that needs it, so that the code waits less. */
function load(root: string, specifier: string): void {
  try {
    createRequire(bundlePath(root))(specifier)
  } catch {
    // The code that needs it reports the error.
  }
}

/** An access that the sandbox refused, as an error that names it. */
function refusal(name: string, error: unknown): Error | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code, permission, resource } = cause as Error & Record<'code' | 'permission' | 'resource', unknown>
    if (code !== 'ERR_ACCESS_DENIED') continue
    const what = [permission, resource].filter(Boolean).join(' ')
    return loaderErrors.create('LDR_DESCRIBE_REFUSED', `${name}: the module body may not use ${what}`, {
      plugin: name,
      hint: 'do it in activate',
      ...(isSvcError(error) && error.at !== undefined ? { at: error.at } : {})
    })
  }
  return undefined
}

let queue: Promise<void> = Promise.resolve()
createInterface({ input: process.stdin })
  .on('line', line => {
    queue = queue.then(() => reply(JSON.parse(line) as Question))
  })
  .on('close', () => process.exit())
answer({ type: 'ready' })
