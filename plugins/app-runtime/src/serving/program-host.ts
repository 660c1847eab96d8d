import { openDatabase } from '../database/access.ts'
import type { ProgramDatabase } from '../database/program-database.ts'
import type { Host, LogLine } from '../interpreter/host.ts'
import { bridgeTo } from '../threads/bridge.ts'
import { OutputGate } from '../threads/output-gate.ts'
import { databaseDurable } from '../workflows/database-durable.ts'
import type { InTransaction } from './endpoint-runner.ts'
import { type FromThread, type Load, PROGRESS } from './messages.ts'

export interface ProgramHost {
  readonly host: Host
  readonly database: ProgramDatabase | null
  readonly inTransaction: InTransaction
}

export interface ThreadCallbacks {
  report(message: FromThread): void
  /** Called before each effect outside the database. */
  onEffect(): void
  /** Called before each commit, and before each write outside transactions. */
  onStore(): void
  /** Returns the slot of the running call. */
  slot(): number
}

/** Opens the host, the database and the transactions of a served program. */
export function openProgramHost(load: Load, { report, onEffect, onStore, slot }: ThreadCallbacks): ProgramHost {
  const progress = new Int32Array(load.progress)
  const idle = new Int32Array(new SharedArrayBuffer(4))
  const gate = new OutputGate(progress, PROGRESS.UNWRITTEN)
  const log = (line: LogLine): void => {
    report({ kind: 'log', slot: slot(), ...line })
    gate.sent(line)
  }
  const bridge = bridgeTo(load.bridge)
  const database = load.database === null ? null : openDatabase(load.database, bridge, load.program, { onStore })
  const sleep = (duration: number): void => {
    Atomics.wait(idle, 0, 0, Math.min(duration, load.limits.milliseconds))
  }
  const durable =
    database === null || load.durable === null
      ? null
      : databaseDurable(database.connection, load.durable, sleep, () => report({ kind: 'due' }), bridge)
  return {
    database,
    host: {
      print: text => log({ level: 'info', text }),
      log,
      now: Date.now,
      random: Math.random,
      args: [],
      capabilities: new Set(load.capabilities),
      onEffect,
      sleep,
      bridge,
      database,
      ending: null,
      durable,
      stepped: step => report({ kind: 'step', step }),
      runChanged: () => report({ kind: 'run' }),
      ...(load.hasMesh && { meshStep: () => report({ kind: 'mesh' }) })
    },
    inTransaction: (kind, work, keeps, of) => (database === null ? work() : database.transaction(kind, work, keeps, of))
  }
}
