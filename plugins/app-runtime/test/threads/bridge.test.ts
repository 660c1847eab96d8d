import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'
import { SvcError } from '@svc/plugin-sdk'
import { buildSync } from 'esbuild'
import t, { type Test } from 'tap'
import { answerBridge, type BridgeAnswers } from '#threads'

const [script] = buildSync({
  entryPoints: [fileURLToPath(new URL('./bridge-thread.ts', import.meta.url))],
  bundle: true,
  platform: 'node',
  format: 'cjs',
  conditions: ['svc-source'],
  write: false
}).outputFiles

interface World {
  readonly worker: Worker
  readonly reports: string[]
  readonly abort: AbortController
  ask(...questions: readonly (readonly [string, unknown, number?])[]): Promise<unknown[]>
}

function open(t: Test, answers: BridgeAnswers): World {
  const { port1, port2 } = new MessageChannel()
  const answered = new SharedArrayBuffer(4)
  const worker = new Worker(script?.text ?? '', {
    eval: true,
    workerData: { port: port2, answered },
    transferList: [port2],
    execArgv: []
  })
  const reports: string[] = []
  const abort = new AbortController()
  answerBridge({ port: port1, answered }, abort.signal, answers, (error, kind) => {
    reports.push(`${kind}: ${(error as Error).message}`)
  })
  t.teardown(() => worker.terminate())
  return {
    worker,
    reports,
    abort,
    async ask(...questions) {
      worker.postMessage(questions)
      const [answers] = (await once(worker, 'message')) as [unknown[]]
      return answers
    }
  }
}

t.test('a thread waits for replies of the main thread, and gets them in order', async t => {
  const { ask } = open(t, {
    double: async (n: number) => {
      await sleep(n % 3)
      return 2 * n
    },
    copy: (value: unknown) => value
  })
  t.same(await ask(...[3, 1, 2, 0].map(n => ['double', n] as const)), [6, 2, 4, 0])
  t.same(await ask(['copy', { deep: [1n, new Uint8Array([1, 2])] }]), [{ deep: [1n, new Uint8Array([1, 2])] }])
  const many = Array.from({ length: 2000 }, (_, index) => ['copy', index] as const)
  t.same(
    await ask(...many),
    many.map(([, index]) => index)
  )
})

t.test('errors keep their code, message, status, hint and data', async t => {
  const { ask } = open(t, {
    refuse: () => {
      throw new SvcError('X_REFUSED', 'no', { status: 418, hint: 'ask again', data: { tea: true } })
    }
  })
  t.match(await ask(['refuse', null]), [
    { name: 'SvcError', code: 'X_REFUSED', message: 'no', status: 418, hint: 'ask again', data: { tea: true } }
  ])
})

t.test('an error without a code is reported, and its message does not reach the thread', async t => {
  const { ask, reports } = open(t, {
    fail: () => {
      throw new Error('the password is 1234')
    },
    uncopied: () => () => undefined
  })
  const [failed, uncopied] = (await ask(['fail', null], ['uncopied', null])) as { code: string; message: string }[]
  t.equal(failed?.code, 'RUN_HOST_FAILED')
  t.notMatch(failed?.message, '1234')
  t.equal(uncopied?.code, 'RUN_HOST_FAILED')
  t.match(reports, ['fail: the password is 1234', /^uncopied: /])
})

t.test('a request without a handler is an error', async t => {
  const { ask } = open(t, {})
  t.match(await ask(['nothing', null], ['constructor', null]), [
    { code: 'RUN_UNSUPPORTED' },
    { code: 'RUN_UNSUPPORTED' }
  ])
})

t.test('a request ends at its time limit, and its late reply is ignored', async t => {
  let aborted = false
  let late = (_value: string): void => undefined
  const { ask } = open(t, {
    never: (_: null, { signal }) => {
      signal.addEventListener('abort', () => (aborted = true))
      return new Promise<string>(resolve => (late = resolve))
    },
    next: () => {
      late('late')
      return sleep(20, 'next')
    }
  })
  t.match(await ask(['never', null, 30], ['next', null]), [{ code: 'RUN_TIME_LIMIT' }, 'next'])
  t.ok(aborted)
})

t.test('a thread that ends or is abandoned aborts its request', async t => {
  // Keeps the process alive: a bridge does not, and the thread has ended.
  const awake = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(awake))
  for (const end of ['it ended', 'it was abandoned'] as const) {
    // The handler reports the abort, because the thread has ended.
    const events = new EventEmitter()
    const { worker, abort }: World = open(t, {
      wait: (_: null, { signal }) => {
        signal.addEventListener('abort', () => events.emit('aborted'))
        events.emit('asked')
        return new Promise(() => undefined)
      }
    })
    const [asked, aborted] = [once(events, 'asked'), once(events, 'aborted')]
    worker.postMessage([['wait', null]])
    await asked
    if (end === 'it ended') await worker.terminate()
    else abort.abort()
    t.ok(await aborted, end)
  }
})
