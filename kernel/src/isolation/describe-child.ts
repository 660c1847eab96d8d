import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { Script } from 'node:vm'
import { isSvcError } from '@svc/plugin-sdk'
import { bundlePath } from '../loader/bundle.ts'
import { manifestOf } from '../loader/describe.ts'
import { loaderErrors } from '../loader/errors.ts'
import { withPackages } from '../loader/evaluate.ts'
import { confineNetwork, confineProcess } from './confine.ts'
import { type DescriberMessage, type DescriberReply, REPLY_DESCRIPTOR } from './describe-protocol.ts'
import { encodeError } from './remote-error.ts'

/** Extra time before this process stops itself: normally the host kills it at the time limit. */
const HOST_IS_FIRST_MS = 1_000

const { stringify } = JSON

function answer(given: DescriberReply): void {
  const bytes = Buffer.from(`${stringify(given)}\n`)
  for (let at = 0; at < bytes.length; ) at += writeSync(REPLY_DESCRIPTOR, bytes, at)
}

/** Runs a synchronous function with a time limit, which a timer on the same thread could not enforce. */
function withinTime<A>(run: () => A, timeoutMs: number): A {
  const script = new Script('__svc_run()')
  Object.assign(globalThis, { __svc_run: run })
  return script.runInThisContext({ timeout: timeoutMs }) as A
}

async function reply(message: DescriberMessage): Promise<void> {
  if (message.type === 'warm') {
    for (const specifier of message.specifiers) load(message.root, specifier)
    answer({ type: 'ready' })
    return
  }
  const { id, name, root, version, text, timeoutMs } = message
  answer({ type: 'begun', id })
  try {
    const code = await withPackages({ name, root, text })
    const manifest = await withinTime(() => manifestOf(code, version), timeoutMs + HOST_IS_FIRST_MS)
    answer({ type: 'manifest', id, manifest })
  } catch (error) {
    answer({ type: 'failure', id, error: encodeError(refusal(name, error) ?? error) })
  }
}

/** Preloads a package, so that the module body that imports it starts faster. */
function load(root: string, specifier: string): void {
  try {
    createRequire(bundlePath(root))(specifier)
  } catch {
    // The module body that imports the package will report the error.
  }
}

/** Returns an error that names the access if the sandbox or a guard refused one. */
function refusal(name: string, error: unknown): Error | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const { code, permission, resource } = cause as Error & Record<'code' | 'permission' | 'resource', unknown>
    const details = { plugin: name, ...(isSvcError(error) && error.at !== undefined ? { at: error.at } : {}) }
    if (isSvcError(cause, 'LDR_REFUSED')) {
      const { message, hint = 'move this code into activate' } = cause
      return loaderErrors.create('LDR_DESCRIBE_REFUSED', message, { ...details, hint })
    }
    if (code !== 'ERR_ACCESS_DENIED') continue
    const what = [permission, resource].filter(Boolean).join(' ')
    const hint = 'move this code into activate'
    const message = `${name}: the module body has no permission for ${what}`
    return loaderErrors.create('LDR_DESCRIBE_REFUSED', message, { ...details, hint })
  }
  return undefined
}

confineProcess()
confineNetwork()
let queue: Promise<void> = Promise.resolve()
createInterface({ input: process.stdin })
  .on('line', line => {
    queue = queue.then(() => reply(JSON.parse(line) as DescriberMessage))
  })
  .on('close', () => process.exit())
answer({ type: 'ready' })
