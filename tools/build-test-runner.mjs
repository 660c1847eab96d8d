// tap carries its plugins inside, in a separate build. After an installation those are the default ones, whose
// compiler does not work with TypeScript 7. A run would build the plugins of .taprc, but still load the default ones.
import { spawnSync } from 'node:child_process'
import { t } from 'tap'

if (/@tapjs\/(?:typescript|mock)/.test(t.pluginSignature)) {
  const { status } = spawnSync('tap', ['build'], { stdio: 'inherit', shell: true })
  process.exitCode = status ?? 1
}
