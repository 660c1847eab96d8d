import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repositoryIdOf, stateDirectory } from '#host'

t.test('the state of a project is in the project; that of other folders is in the data directory', async t => {
  for (const mark of ['svc.toml', '.git', '.vox']) {
    const root = t.testdir({ [mark]: {} })
    t.equal(stateDirectory(root, '/data', {}), join(root, '.vox'), mark)
  }
  const root = t.testdir({})
  t.equal(stateDirectory(root, '/data', {}), join('/data', 'projects', repositoryIdOf(root)))
  t.equal(stateDirectory(root, undefined, { XDG_DATA_HOME: '/x' }), join('/x/svc/projects', repositoryIdOf(root)))
})

t.test(
  'state in the data directory stays there if a daemon creates .vox, until the folder becomes a project',
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
