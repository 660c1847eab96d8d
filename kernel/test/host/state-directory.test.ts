import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryIdOf, stateDirectory } from '#host'

t.test('the state of a project lies in it, and that of any other folder in the data directory', async t => {
  for (const mark of ['svc.toml', '.git', '.vox']) {
    const root = t.testdir({ [mark]: {} })
    t.equal(stateDirectory(root, '/data', {}), join(root, '.vox'), mark)
  }
  const root = t.testdir({})
  t.equal(stateDirectory(root, '/data', {}), join('/data', 'projects', repositoryIdOf(root)))
  t.equal(stateDirectory(root, undefined, { XDG_DATA_HOME: '/x' }), join('/x/svc/projects', repositoryIdOf(root)))
})

t.test(
  'state that lies in the data directory stays there when a daemon leaves a .vox, until the folder is a project',
  async t => {
    const root = t.testdir({ folder: {}, data: {} })
    const [folder, data] = [join(root, 'folder'), join(root, 'data')]
    const shared = stateDirectory(folder, data, {})
    mkdirSync(shared, { recursive: true })
    mkdirSync(join(folder, '.vox'))
    t.equal(stateDirectory(folder, data, {}), shared)
    mkdirSync(join(folder, '.git'))
    t.equal(stateDirectory(folder, data, {}), join(folder, '.vox'))
  }
)
