import type { RemoteModel } from './client.ts'

/** Model of the settings if none is chosen: the server's only model then answers. */
export const NO_MODEL = 'default-model'

/** Returns the names of models that generate text, as far as their server reports what they compute. */
export function textModelNames(models: readonly Pick<RemoteModel, 'name' | 'kind'>[]): readonly string[] {
  return models.filter(({ kind = null }) => kind === null).map(({ name }) => name)
}

/** True if the server offers the model. A name without a tag means the tag `latest`, in both. */
export function isOffered(model: string, offered: readonly string[]): boolean {
  const tagged = withTag(model)
  return offered.some(name => name === model || withTag(name) === tagged)
}

/** Returns the model, or the server's only model if none is chosen. */
export function unlessChosen(model: string, offered: readonly string[]): string {
  return model === NO_MODEL && offered.length === 1 ? (offered[0] as string) : model
}

function withTag(name: string): string {
  return name.includes(':') ? name : `${name}:latest`
}
