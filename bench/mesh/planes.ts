import { setTimeout as sleep } from 'node:timers/promises'
import { Child, type Program } from './child.ts'
import { TOKEN } from './wire-client.ts'

/** Connections of each control plane to the database, as by default. */
export const CONNECTIONS = 8

/** Starts a control plane on a PostgreSQL server. Resolves when it is ready to serve. */
export async function startPlane(program: Program, store: string, leaseMs: number): Promise<Child> {
  const plane = await Child.start(program, { kind: 'plane', store, connections: CONNECTIONS, token: TOKEN, leaseMs })
  while ((await fetch(`${plane.url}/ready`)).status !== 200) await sleep(50)
  return plane
}
