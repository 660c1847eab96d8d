import { type CommandDescriptor, t } from '@svc/plugin-sdk'

export const START_WAIT_MS = 60_000
export const STOP_WAIT_MS = 30_000
export const LINES = 50

const wait = (what: string, milliseconds: number) =>
  t.integer({ default: milliseconds, minimum: 0, description: `Milliseconds to wait ${what}` })

/** Descriptors of the daemon commands, which also work with an invalid configuration. */
export const startDescriptor: CommandDescriptor = {
  command: 'daemon start',
  summary: 'Start the daemon of this project in the background',
  tolerant: true,
  input: t.object({
    wait: wait('until it responds; 0: do not wait', START_WAIT_MS),
    foreground: t.boolean({ default: false, description: 'Serve in this terminal until Ctrl-C' }),
    only: t.optional(
      t.string({ description: 'Run only these plugins and their requirements: a,b', 'x-complete': 'plugins' })
    )
  })
}

export const statusDescriptor: CommandDescriptor = {
  command: 'daemon status',
  summary: "Show the daemon's state: exit 0 running, 1 crashed, 3 stopped, 4 not responding",
  tolerant: true,
  input: t.object({})
}

export const stopDescriptor: CommandDescriptor = {
  command: 'daemon stop',
  summary: 'Stop the daemon after its running calls',
  tolerant: true,
  input: t.object({
    wait: wait('until it has ended', STOP_WAIT_MS),
    force: t.boolean({ default: false, description: 'Kill it if it has not ended in time' })
  })
}

export const logsDescriptor: CommandDescriptor = {
  command: 'daemon logs',
  summary: 'Show the log of the background daemon',
  tolerant: true,
  input: t.object({
    lines: t.integer({ default: LINES, minimum: 0, description: 'Number of lines to print' }),
    follow: t.boolean({ default: false, description: 'Print new lines until Ctrl-C' })
  }),
  aliases: { lines: 'n', follow: 'f' }
}
