// Serves A2A with the database FILE until it is killed, and prints the URL.
import { writeSync } from 'node:fs'
import type { Test } from 'tap'
import { openWorld } from './open-world.ts'

const [, , file = ''] = process.argv
const world = await openWorld({ teardown: () => undefined } as unknown as Test, { file })
writeSync(1, `${world.url}\n`)
