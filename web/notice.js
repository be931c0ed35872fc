// @ts-check
/** Turns a text into a line that stays until it is closed; the same text is shown once. It needs #notices. */
const MOST = 4;

export function notice(text) {
  const home = document.getElementById("notices"), all = [...home.children];
  if (all.some((one) => one.firstChild.textContent === text)) return;
  const box = document.createElement("div"), line = document.createElement("span"), close = document.createElement("button");
  box.className = "notice";
  line.textContent = text;
  close.type = "button";
  close.textContent = "×";
  close.setAttribute("aria-label", "Close this message");
  close.addEventListener("click", () => {
    const next = box.nextElementSibling ?? box.previousElementSibling;
    box.remove();
    (next?.querySelector("button") ?? document.querySelector("main")).focus(); // it would be lost with the button
  });
  box.append(line, close);
  home.append(box);
  if (all.length >= MOST) all[0].remove();
}
