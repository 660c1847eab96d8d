/** Runs `svc upgrade --apply`, and ends itself with SIGKILL before a step: `HOME SETTINGS FLAGS STEP`. */
import { upgrade } from './upgrade.ts'

const [home = '', settings = '', flags = '', step] = process.argv.slice(2)
await upgrade(home, JSON.parse(settings), JSON.parse(flags), {
  onStep: each => {
    if (each === step) process.kill(process.pid, 'SIGKILL')
  }
})
