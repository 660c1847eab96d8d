import { appendFileSync, readFileSync } from 'node:fs'
import { FileConnection } from '@svc/plugin-database/testing'
import { Interpreter } from '#interpreter'
import { databaseDurable } from '#workflows'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'

/** Runs turns until the run has ended. Arguments: database, source, file for output lines, run id. */
const [, , file = '', source = '', lines = '', runId = ''] = process.argv
const idle = new Int32Array(new SharedArrayBuffer(4))
const sleep = (duration: number): void => void Atomics.wait(idle, 0, 0, duration)
const connection = new FileConnection({ file, busyTimeoutMs: 10_000, synchronous: 'normal' })
const durable = databaseDurable(connection, { program: 'p', metricSession: null }, sleep, null)
const interpreter = new Interpreter(programFrom(readFileSync(source, 'utf8')), {
  ...hostOf([]),
  now: Date.now,
  print: line => appendFileSync(lines, `${line}\n`),
  sleep,
  durable
})
process.stdout.write('ready\n')
for (;;) {
  const end = interpreter.turn(runId, LIMITS)
  if (end.kind === 'failed') throw end.failure
  if (end.kind === 'completed' || (end.kind === 'taken' && end.run?.status === 'completed')) break
  sleep(5)
}
process.stdout.write('done\n')
connection.close()
