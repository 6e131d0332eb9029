// Runs in a real browser next to the demonstration's page: cuts the picture, waits until the page names the JPEG that the
// test expects, and posts what the page says.

const said = (id) => document.getElementById(id).value;

async function until(is) {
  while (!is()) await new Promise((resolve) => setTimeout(resolve, 20));
}

try {
  const [own, ...cuts] = await (await fetch('cuts.json')).json();
  const isShown = ({ bytes, jpeg }) => said('cut').startsWith(`${bytes.toLocaleString('en')} bytes: `) && said('file').startsWith(jpeg);
  // The page makes the first cut by itself.
  await until(() => isShown(own));
  const lines = [said('cut')];
  for (const cut of cuts) {
    document.querySelector('nestcast-file').cut(cut.bytes);
    await until(() => isShown(cut));
    lines.push(said('cut'));
  }
  await fetch('result', { method: 'POST', body: lines.join('\n') });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack}` });
}
