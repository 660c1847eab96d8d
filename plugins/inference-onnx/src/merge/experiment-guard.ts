import { join } from 'node:path'
import { inferenceErrors } from '../errors.ts'
import { readOptionalJsonObject } from '../files.ts'

const MANIFEST = 'training_manifest.json'

/**
 * Refuses the adapter of a folder whose `training_manifest.json` names an `optimizer_experiment_mode` other than `off`.
 * Throws `INF_EXPERIMENTAL_OPTIMIZER`, and `INF_RUN_DIR_*` for a manifest that cannot be read.
 */
export async function refuseExperiment(folder: string): Promise<void> {
  const file = join(folder, MANIFEST)
  const { optimizer_experiment_mode: mode = 'off' } = (await readOptionalJsonObject(file)) ?? {}
  if (mode === 'off') return
  throw inferenceErrors.create(
    'INF_EXPERIMENTAL_OPTIMIZER',
    `${file}: the adapter was trained in the optimizer experiment mode ${JSON.stringify(mode)}`,
    {
      at: { file },
      data: { file },
      hint: 'set SVC_MODELS_EXPERIMENTAL_OPTIMIZER=1 to merge it, or train the adapter with the mode off'
    }
  )
}
