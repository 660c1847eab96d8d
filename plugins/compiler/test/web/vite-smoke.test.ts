import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { build, install, ROOT, typeCheck } from './building.ts'
import { HARNESS } from './harness.ts'

const exec = promisify(execFile)
const folder = join(ROOT, 'examples/language')

t.test(
  'Vite builds every example',
  { skip: !HARNESS.buildsExamples && 'SVC_WEB_VITE_SMOKE is off', timeout: 0 },
  async t => {
    for (const name of readdirSync(folder).filter(file => file.endsWith('.vox'))) {
      const project = join(t.testdir({ program: {} }), 'program')
      copyFileSync(join(folder, name), join(project, name))
      const web = join(project, 'web')
      const { code, err } = await build(join(project, name), web, { scaffold: true })
      t.equal(code, 0, `${name}: ${err}`)
      // The example imports a module that its user must write.
      if (err.includes('web.missing_module')) continue
      install(web)
      t.equal(await typeCheck(web), '', name)
      await exec(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: web })
      t.ok(existsSync(join(project, 'public/index.html')), name)
    }
  }
)
