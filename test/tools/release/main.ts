export async function tryRelease(_isQuick: boolean): Promise<boolean> {
  return false;
}
