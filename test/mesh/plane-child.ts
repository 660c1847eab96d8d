// A control plane on a port of 127.0.0.1, until its parent process ends it. The parent can arm a failpoint: the process kills
// itself at the next call of a method of the store.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Coordination } from '@svc/contracts'
import type { Test } from 'tap'
import { openWorld } from '../../plugins/mesh-control/test/world.ts'
import { openPostgres } from './postgres-store.ts'

/** File of the embedded store, or URL of a PostgreSQL server. */
export type PlaneStore = { readonly file: string } | { readonly postgres: string }

export interface PlaneOptions {
  readonly store: PlaneStore
  readonly token: string
  readonly jwtSecret: string
  readonly leaseMs: number
}

/**
 * `before`: the call does not reach the store. `during`: it does, and the process ends within a millisecond. `after`: it is
 * committed, and the client gets no answer.
 */
export type FailpointTime = 'before' | 'during' | 'after'

export interface Failpoint {
  readonly method: keyof Coordination
  readonly when: FailpointTime
}

export type PlaneCall = { readonly open: PlaneOptions } | { readonly arm: Failpoint }
export type PlaneReport = { readonly port: number } | { readonly armed: true }

let armed: Failpoint | null = null

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

function withFailpoints(store: Coordination): Coordination {
  return new Proxy(store, {
    get(on, name) {
      const value = Reflect.get(on, name) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const when = armed?.method === name ? armed.when : null
        if (when === 'before') die()
        const result = value.apply(on, args) as unknown
        if (when === 'during') void sleep(Math.random()).then(die)
        if (when === 'after') return (result as Promise<unknown>).then(() => new Promise(() => die()))
        return result
      }
    }
  })
}

async function open({ store, token, jwtSecret, leaseMs }: PlaneOptions): Promise<number> {
  const world = await openWorld({ teardown() {} } as unknown as Test, {
    control: { jwt_hmac_secret: jwtSecret, a2a_lease_ms: leaseMs },
    mesh: { token },
    wrap: withFailpoints,
    ...('file' in store ? { coordination: { file: store.file } } : { backend: openPostgres(store.postgres) })
  })
  return world.port
}

process.on('message', async (call: PlaneCall) => {
  if ('open' in call) process.send?.({ port: await open(call.open) } satisfies PlaneReport)
  else {
    armed = call.arm
    process.send?.({ armed: true } satisfies PlaneReport)
  }
})
process.once('disconnect', () => process.exit(0))
