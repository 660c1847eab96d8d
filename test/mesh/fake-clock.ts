import { existsSync } from 'node:fs'

const FOLDERS = ['x86_64-linux-gnu', 'aarch64-linux-gnu', 'faketime']
const library = FOLDERS.map(folder => `/usr/lib/${folder}/faketime/libfaketime.so.1`).find(existsSync)

/** Reason to skip tests with a wrong clock; false if libfaketime is installed. */
export const noFakeClock: string | false =
  library === undefined ? 'libfaketime is not installed: apt-get install faketime' : false

/** Returns environment variables that shift the clock of a process, such as `+1h`. Timers are not affected. */
export function shiftedClock(offset: string): Readonly<Record<string, string>> {
  if (library === undefined) throw new Error(String(noFakeClock))
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
}
