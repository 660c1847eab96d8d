// tap carries its plugins inside, in a separate build. After an installation those are the usual ones, with a compiler that
// does not work with TypeScript 7; a run would build what .taprc asks for, and still load the others.
import { spawnSync } from 'node:child_process'
import { t } from 'tap'

if (/@tapjs\/(?:typescript|mock)/.test(t.pluginSignature)) {
  const { status } = spawnSync('tap', ['build'], { stdio: 'inherit', shell: true })
  process.exitCode = status ?? 1
}
